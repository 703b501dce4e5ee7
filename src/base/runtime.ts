/**
 * Whether this is a Worker of Cloudflare. There, timers, streams and requests belong to the call that began them, and end
 * with it, although other calls of the same process go on.
 */
export function isWorker(): boolean {
  const { navigator } = globalThis as { readonly navigator?: { readonly userAgent?: string } }
  return navigator?.userAgent === 'Cloudflare-Workers'
}
