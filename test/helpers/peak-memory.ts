import { readFileSync } from 'node:fs'

/**
 * The largest resident memory that this process has had, in MiB. On Linux `maxRSS` would also count the process that started
 * this one: a process begins with the peak of its parent.
 */
export function peakMiB(): number {
  if (process.platform !== 'linux') return process.resourceUsage().maxRSS / 1_024
  const peak = /^VmHWM:\s+(\d+) kB$/m.exec(readFileSync('/proc/self/status', 'utf8'))
  if (peak === null) throw new Error('/proc/self/status has no line VmHWM')
  return Number(peak[1]) / 1_024
}
