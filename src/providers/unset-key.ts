/**
 * Warns of a key that is given as undefined, as that of an environment variable that is not set is: a provider refuses
 * each call then, and nothing at the start would have told.
 */
export function warnOfUnsetKey(settings: object, adapter: string): void {
  if (!('apiKey' in settings) || settings.apiKey !== undefined) return
  process.emitWarning(
    `apiKey of ${adapter} is undefined, as an environment variable that is not set is. Calls go out without a key; leave apiKey out where that is meant.`,
    { code: 'COMPAT_ROUTER_API_KEY' },
  )
}
