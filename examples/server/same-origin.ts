import type { RequestHandler } from 'express'

/** Refuses forms that a browser sends from a page of another site. Programs do not say where they come from, and may go on. */
export const refuseOtherSites: RequestHandler = ({ headers, method }, res, next) => {
  const { host, origin, 'sec-fetch-site': site } = headers
  const isOwn =
    site === undefined
      ? origin === undefined || origin.endsWith(`://${host}`)
      : site === 'same-origin' || site === 'none'
  if (method !== 'POST' || isOwn) next()
  else res.status(403).send('This form was sent by another site.')
}
