/**
 * Warns if the key is given as undefined, for example from an environment variable that is not set. The provider
 * would reject each call, and nothing would show the mistake at startup.
 */
export function warnOfUnsetKey(settings: object, adapter: string): void {
  if (!('apiKey' in settings) || settings.apiKey !== undefined) return
  process.emitWarning(
    `apiKey of ${adapter} is undefined. Perhaps an environment variable is not set. Calls are sent without a key; if that is intended, leave apiKey out.`,
    { code: 'COMPAT_ROUTER_API_KEY' },
  )
}
