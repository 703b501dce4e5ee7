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
