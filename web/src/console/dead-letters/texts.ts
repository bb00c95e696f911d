/** Every word of the dead letters' page. */

const messages = (count: number): string => (count === 1 ? "1 message" : `${count.toLocaleString("en")} messages`);

export const words = {
  intro: "Messages that ended for good without being delivered, by the error that ended them. Mend the cause, then send them again.",
  none: "No message has failed. Well done.",
  atLeast: (count: number) => `The newest ${count.toLocaleString("en")} are shown; there are more. Sending a whole group or all again takes them along.`,
  count: messages,
  newest: "the newest",
  noCode: "Without a code",
  doing: "What to do",
  messages: "Which messages",
  columns: { id: "Message", to: "To", what: "What", said: "What the provider said", when: "Ended", again: "" },
  more: (count: number) => `and ${count.toLocaleString("en")} more`,
  all: "in the outbox",
  one: "Send again",
  oneTitle: (id: number) => `Send message ${id} again?`,
  group: "Send this group again",
  groupTitle: (count: number) => `Send ${messages(count)} again?`,
  every: "Send all again",
  everyTitle: (count: number, more: boolean) => (more ? "Send all dead letters again?" : `Send all ${messages(count)} again?`),
  text: "Each goes out now, with its tries counted from 0. What still cannot be delivered comes back here.",
  groupText: "They go out now, with their tries counted from 0. If the cause is still there, they come back here.",
  done: (count: number) => `${messages(count)} sent again.`,
  refresh: "Refresh",
  stillWaiting: "Not all have an end yet, and they are no longer followed here. Each one's page shows where it stands.",
  became: "What became of them",
  becameIntro: (count: number, looked: number) => (looked < count ? `${messages(count)} sent again; these are the newest ${looked}.` : `${messages(count)} sent again.`),
  tally: { delivered: "Delivered", sent: "Sent", waiting: "On their way", failed: "Failed again", cancelled: "Cancelled" },
  close: "Close",
};
