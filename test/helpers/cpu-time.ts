/** The CPU time of a synchronous step. The clock would also count what other programs of the machine do. */
export function cpuMsOf(step: () => void): number {
  const before = process.cpuUsage()
  step()
  const { system, user } = process.cpuUsage(before)
  return (system + user) / 1_000
}
