const MOST_TRIES = 12
const QUIET_TRIES = 3
const STEADY = 0.97

/**
 * Repeats a measurement until its lowest cost has not fallen in three tries, at most twelve times. By then
 * the measured code is compiled, however few calls the machine makes in that time.
 */
export async function untilSteady(measureCost: () => Promise<number>): Promise<void> {
  let least = Infinity
  let quiet = 0
  for (let tries = 0; tries < MOST_TRIES && quiet < QUIET_TRIES; tries++) {
    const cost = await measureCost()
    // If no cost is known, three tries have to do.
    quiet = cost < least * STEADY ? 0 : quiet + 1
    least = Math.min(least, Number.isNaN(cost) ? Infinity : cost)
  }
}
