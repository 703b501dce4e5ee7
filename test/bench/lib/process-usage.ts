import { readdirSync, readFileSync } from 'node:fs'

const TICKS_A_SECOND = 100

/** User and system time of all threads of a process, in ticks of 10 ms. NaN if there is no `/proc`. */
export function cpuSecondsOf(processId: number): number {
  const fields = statOf(processId)
  return fields === undefined ? Number.NaN : (Number(fields[11]) + Number(fields[12])) / TICKS_A_SECOND
}

/** The same of a process and of all its children, except one. Includes children that have ended. */
export function familyCpuSecondsOf(processId: number, except: number): number {
  const fields = statOf(processId)
  if (fields === undefined) return Number.NaN
  const ended = (Number(fields[13]) + Number(fields[14])) / TICKS_A_SECOND
  const children = readdirSync('/proc')
    .map(Number)
    .filter((child) => child > 0 && child !== except && Number(statOf(child)?.[1]) === processId)
  return children.reduce((sum, child) => sum + (cpuSecondsOf(child) || 0), cpuSecondsOf(processId) + ended)
}

/** The fields of `/proc/PID/stat` after the second. */
function statOf(processId: number): readonly string[] | undefined {
  const stat = readProc(processId, 'stat')
  // The second field is the command in brackets, which may contain anything.
  return stat?.slice(stat.lastIndexOf(')') + 2).split(' ')
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
