/** The words of the page about the bot's turns. */

export const texts = {
  intro: "A customer's messages are answered together, as one turn, by one worker at a time. What the bot could not answer is given up and goes to a person.",
  open: {
    title: "Being answered, or waiting for it",
    empty: "Nobody waits for the bot.",
    customer: "Customer",
    state: "State",
    thinks: "The bot thinks",
    due: "Due",
    collects: "Still writing",
    retries: "To be tried again",
    since: "Since",
    worker: "Worker",
    waiting: "Messages",
    attempts: "Tries",
    floor: "Who answers",
  },
  failed: {
    title: "Given up",
    empty: "Nothing was given up.",
    error: "Why",
    ended: "Given up",
    unknownError: "The bot gave no reason.",
    replay: "Answer now",
    question: (name: string) => `Let the bot answer ${name}?`,
    what: "The bot gets these messages once more, at once. It is refused when something was answered in the conversation since.",
    done: "The bot answers it now.",
  },
  floor: { bot: "Bot", human: "A person", somebody: "A colleague" },
  unnamed: "Unnamed",
};
