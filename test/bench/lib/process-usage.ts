import { readFileSync } from 'node:fs'

const TICKS_A_SECOND = 100

/** User and system time of all threads of a process, in ticks of 10 ms. NaN if there is no `/proc`. */
export function cpuSecondsOf(processId: number): number {
  const stat = readProc(processId, 'stat')
  if (stat === undefined) return Number.NaN
  // The second field is the command in brackets, which may contain anything.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  return (Number(fields[11]) + Number(fields[12])) / TICKS_A_SECOND
}

/** Memory in use by a process. NaN if there is no `/proc`. */
export function residentBytesOf(processId: number): number {
  const kibibytes = /VmRSS:\s+(\d+)/.exec(readProc(processId, 'status') ?? '')?.[1]
  return Number(kibibytes ?? Number.NaN) * 1_024
}

function readProc(processId: number, name: string): string | undefined {
  try {
    return readFileSync(`/proc/${processId}/${name}`, 'latin1')
  } catch {
    return undefined
  }
}
