/** UI texts of the dead letters page. */

const messages = (count: number): string => (count === 1 ? "1 message" : `${count.toLocaleString("en")} messages`);

export const words = {
  intro: "Messages that failed permanently, grouped by error. Fix the cause, then send them again.",
  none: "No dead letters.",
  atLeast: (count: number) => `Showing the newest ${count.toLocaleString("en")}. Sending a group or all messages again includes the older ones.`,
  count: messages,
  newest: "newest",
  noCode: "No error code",
  doing: "What to do",
  messages: "Show messages",
  columns: { id: "Message", to: "To", what: "Content", providerMessage: "Provider error", when: "Failed", actions: "" },
  more: (count: number) => `and ${count.toLocaleString("en")} more`,
  all: "in the outbox",
  one: "Send again",
  oneTitle: (id: number) => `Send message ${id} again?`,
  group: "Send group again",
  groupTitle: (count: number) => `Send ${messages(count)} again?`,
  every: "Send all again",
  everyTitle: (count: number, more: boolean) => (more ? "Send all dead letters again?" : `Send all ${messages(count)} again?`),
  text: "The message is sent now, and its attempts start at 0. If it fails again, it returns to this list.",
  groupText: "The messages are sent now, and their attempts start at 0. If the cause is not fixed, they return to this list.",
  done: (count: number) => `${messages(count)} sent again.`,
  refresh: "Refresh",
  stillWaiting: "Some messages have no final status yet and are no longer updated here. Open a message to see its current status.",
  became: "Results",
  becameIntro: (count: number, looked: number) => (looked < count ? `${messages(count)} sent again; showing the newest ${looked}.` : `${messages(count)} sent again.`),
  tally: { delivered: "Delivered", sent: "Sent", waiting: "In progress", failed: "Failed again", cancelled: "Cancelled" },
  close: "Close",
};
