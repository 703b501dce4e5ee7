import type { RouterOptions, RouterSettings } from '../../src/index.js'

/** The bounds of a router that a test sets. */
export type SettingsOptions = Pick<RouterOptions, keyof RouterSettings>

/** Returns the bounds among the options of a test. */
export function settingsIn({
  charging,
  concurrency,
  routing,
  sizes,
  timeouts,
}: SettingsOptions): SettingsOptions {
  return {
    ...(timeouts && { timeouts }),
    ...(sizes && { sizes }),
    ...(concurrency && { concurrency }),
    ...(routing && { routing }),
    ...(charging && { charging }),
  }
}
