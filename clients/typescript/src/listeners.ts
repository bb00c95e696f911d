/** Typed event listeners. */

export type Off = () => void;

export class Listeners<Events extends object> {
  readonly #listeners = new Map<keyof Events, Set<(event: never) => unknown>>();

  on<Name extends keyof Events>(name: Name, listener: (event: Events[Name]) => unknown): Off {
    const listeners = this.#listeners.get(name) ?? new Set();
    this.#listeners.set(name, listeners.add(listener));
    return () => void listeners.delete(listener);
  }

  /** Calls every listener and returns their results; an exception in one does not affect the others. */
  emit<Name extends keyof Events>(name: Name, event: Events[Name]): unknown[] {
    return [...(this.#listeners.get(name) ?? [])].map((listener) => {
      try {
        return (listener as (event: Events[Name]) => unknown)(event);
      } catch (error) {
        queueMicrotask(() => {
          throw error;
        });
        return undefined;
      }
    });
  }
}
