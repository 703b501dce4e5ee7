/** Limits how many callers are inside at once. The others wait in the order of their arrival. */
export interface Gate {
  /** Resolves to a function that leaves the gate. */
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
