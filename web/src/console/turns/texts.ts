/** UI texts of the bot turns page. */

export const texts = {
  intro: "A customer's messages are grouped and answered in one turn, by one worker at a time. If the bot cannot answer, the turn fails and the conversation goes to an agent.",
  open: {
    title: "Active and waiting",
    empty: "No customers are waiting for the bot.",
    customer: "Customer",
    state: "State",
    thinks: "Processing",
    due: "Due",
    collects: "Customer is writing",
    retries: "Waiting to retry",
    since: "Since",
    worker: "Worker",
    waiting: "Messages",
    attempts: "Attempts",
    floor: "Handled by",
  },
  failed: {
    title: "Failed turns",
    empty: "No failed turns.",
    error: "Reason",
    ended: "Failed",
    unknownError: "The bot gave no reason.",
    replay: "Answer now",
    question: (name: string) => `Let the bot answer ${name}?`,
    what: "The bot receives these messages again immediately. The server rejects this if the conversation was answered in the meantime.",
    done: "The bot is answering.",
  },
  floor: { bot: "Bot", human: "Team", agent: "Agent" },
  unnamed: "Unnamed",
};
