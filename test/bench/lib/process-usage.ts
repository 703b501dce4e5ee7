import { readdirSync, readFileSync } from 'node:fs'

const TICKS_A_SECOND = 100

/** User and system time of all threads of a process, in ticks of 10 ms. NaN if there is no `/proc`. */
export function cpuSecondsOf(processId: number): number {
  return cpuSecondsAt(`/proc/${processId}`)
}

/** User and system time of a process by its folder in `/proc`. NaN if it is gone. */
export function cpuSecondsAt(folder: string): number {
  const stat = readProc(folder, 'stat')
  if (stat === undefined) return Number.NaN
  const fields = fieldsOf(stat)
  return (Number(fields[11]) + Number(fields[12])) / TICKS_A_SECOND
}

/** Memory in use by a process. NaN if there is no `/proc`. */
export function residentBytesOf(processId: number): number {
  const kibibytes = /VmRSS:\s+(\d+)/.exec(readProc(`/proc/${processId}`, 'status') ?? '')?.[1]
  return Number(kibibytes ?? Number.NaN) * 1_024
}

/** A process and its children, as folders of `/proc`. */
export function familyOf(processId: number): string[] {
  const children = foldersIn('/proc').filter((id) => {
    return /^\d+$/.test(id) && parentOf(Number(id)) === processId
  })
  return [`/proc/${processId}`, ...children.map((id) => `/proc/${id}`)]
}

export function parentOf(processId: number): number {
  return Number(/PPid:\s+(\d+)/.exec(readProc(`/proc/${processId}`, 'status') ?? '')?.[1])
}

/** The fields after the command, which is in brackets and may contain anything. */
function fieldsOf(stat: string): string[] {
  return stat.slice(stat.lastIndexOf(')') + 2).split(' ')
}

/** The threads of a process, as folders of `/proc`. */
export function threadsOf(processId: number): string[] {
  return foldersIn(`/proc/${processId}/task`).map((id) => `/proc/${processId}/task/${id}`)
}

/** The CPU time of a thread by its folder in `/proc`. NaN if it is gone. */
export function threadMicroseconds(folder: string): number {
  const nanoseconds = readProc(folder, 'schedstat')?.split(' ')[0]
  return Number(nanoseconds ?? Number.NaN) / 1_000
}

function foldersIn(folder: string): string[] {
  try {
    return readdirSync(folder)
  } catch {
    return []
  }
}

function readProc(folder: string, name: string): string | undefined {
  try {
    return readFileSync(`${folder}/${name}`, 'latin1')
  } catch {
    return undefined
  }
}
