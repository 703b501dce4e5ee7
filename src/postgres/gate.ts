/** Lets so many through at once. The others wait in the order in which they came. */
export interface Gate {
  /** Fulfilled with what lets the next one through. */
  enter(): Promise<() => void>
}

export function createGate(places: number): Gate {
  const waiting: ((leave: () => void) => void)[] = []
  let free = places

  function leave(): void {
    const next = waiting.shift()
    if (next === undefined) free++
    else next(leave)
  }

  return {
    enter: () =>
      new Promise((resolve) => {
        if (free === 0) {
          waiting.push(resolve)
          return
        }
        free--
        resolve(leave)
      }),
  }
}

export const OPEN_GATE: Gate = Object.freeze({ enter: async () => () => undefined })
