import type { IncomingMessage } from 'node:http'
import type { RequestHandler } from 'express'

const OWN_HOST = /^(?:localhost|127\.0\.0\.1|\[::1\])(?::(\d+))?$/i
const HTTP_PORT = 80

/**
 * Tells whether a request is addressed to this machine by name and port. Otherwise a page in a local browser may have sent
 * it, after its own name was pointed at this machine.
 */
export function namesThisMachine({ headers, socket }: IncomingMessage): boolean {
  const host = OWN_HOST.exec(headers.host ?? '')
  return host !== null && Number(host[1] ?? HTTP_PORT) === socket.localPort
}

/** Refuses forms that a browser sends from a page of another site. Programs do not say where they come from, and may go on. */
export const refuseOtherSites: RequestHandler = (req, res, next) => {
  const { host, origin, 'sec-fetch-site': site } = req.headers
  const isOwn =
    site === undefined
      ? origin === undefined || origin.endsWith(`://${host}`)
      : site === 'same-origin' || site === 'none'
  if (req.method !== 'POST' || (isOwn && namesThisMachine(req))) next()
  else res.status(403).send('This form was sent by another site.')
}
