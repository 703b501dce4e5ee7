import { setTimeout as delay } from 'node:timers/promises'
import { afterAll, beforeAll, vi } from 'vitest'

/**
 * Shifts the time of day of this file's process to noon in the middle of the month, so that no day or month ends
 * between a call and the page that shows it.
 */
export function useNoon(): void {
  beforeAll(() => {
    const real = Date.now
    const now = new Date(real())
    const shift = Date.UTC(now.getUTCFullYear(), now.getUTCMonth(), 15, 12) - now.getTime()
    vi.spyOn(Date, 'now').mockImplementation(() => real() + shift)
  })
  afterAll(() => {
    vi.mocked(Date.now).mockRestore()
  })
}

const DAY_MS = 86_400_000
const NEAR_MS = 90_000

/** Waits for the end of the day in UTC if it is near, for tests with a browser, whose time is not that of the process. */
export async function midnightPast(): Promise<void> {
  const left = DAY_MS - (Date.now() % DAY_MS)
  if (left < NEAR_MS) await delay(left)
}
