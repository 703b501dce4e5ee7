import { readFile } from 'node:fs/promises'
import { InvalidArgumentError } from 'commander'
import type { Session } from './session.js'

/** `2026-01-31`, a whole ISO time, or milliseconds since the Unix epoch. */
export function parseTime(text: string): number {
  const time = /^\d{12,}$/.test(text) ? Number(text) : Date.parse(text)
  if (!Number.isSafeInteger(time)) {
    throw new InvalidArgumentError('Must be a time such as 2026-01-31 or 2026-01-31T12:00:00Z.')
  }
  return time
}

export function parseInteger(text: string): number {
  if (!/^\d{1,15}$/.test(text)) throw new InvalidArgumentError('Must be a whole number.')
  return Number(text)
}

/** For options that may be given more than once. */
export function collect(text: string, before: readonly string[] = []): readonly string[] {
  return [...before, text]
}

/** The JSON of a file, or of standard input for `-`. */
export async function readJsonFile<Value>(path: string, session: Session): Promise<Value> {
  const text = path === '-' ? await session.readStdin() : await readFile(path, 'utf8')
  try {
    return JSON.parse(text) as Value
  } catch {
    throw new TypeError(`${path === '-' ? 'Standard input' : path} is not JSON`)
  }
}
