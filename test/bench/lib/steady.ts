const MOST_TRIES = 8
const STEADY = 0.9

/**
 * Repeats a measurement until its cost falls by less than a tenth, at most eight times: until the code that it runs is
 * compiled, however few calls the machine does in that time.
 */
export async function untilSteady(measureCost: () => Promise<number>): Promise<void> {
  let last = await measureCost()
  for (let tries = 1; tries < MOST_TRIES; tries++) {
    const cost = await measureCost()
    // Where no cost is known, twice has to do.
    if (!(cost < last * STEADY)) return
    last = cost
  }
}
