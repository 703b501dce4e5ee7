import type { ServerResponse } from 'node:http'
import { type Assets, readAssets } from './assets.js'
import type { ConsoleRequest } from './request.js'
import { HttpError } from './serving/http-error.js'
import { send, sendError } from './serving/reply.js'

const NOT_BUILT =
  "The console's pages are missing from compat-router/dist/console. In a clone of compat-router, run: npm run build:console\n"
const FOR_GOOD = 'public, max-age=31536000, immutable'
/** Revalidated each time, since the name stays the same when the content changes. */
const ASK_AGAIN = 'no-cache'

/** Serves the built pages, which are read into memory on the first request. Returns whether a path is one of theirs. */
export function createPages(
  folder: string,
): (path: string, req: ConsoleRequest, res: ServerResponse) => boolean {
  let assets: Assets | undefined

  return (path, req, res) => {
    const isPage = path === '/' || path === '/index.html'
    assets ??= readAssets(folder)
    const asset = assets?.get(isPage ? '/' : path)
    if (asset === undefined && !isPage) return false
    const isHead = req.method === 'HEAD'
    if (req.method !== 'GET' && !isHead) {
      sendError(res, new HttpError(405, 'This path accepts only GET', undefined, { allow: 'GET, HEAD' }))
    } else if (asset === undefined) {
      const headers = { 'content-type': 'text/plain; charset=utf-8', 'cache-control': 'no-store' }
      send(res, 503, headers, NOT_BUILT, isHead)
    } else {
      const headers = { etag: asset.etag, 'cache-control': asset.isImmutable ? FOR_GOOD : ASK_AGAIN }
      if (req.headers['if-none-match'] === asset.etag) send(res, 304, headers)
      else send(res, 200, { 'content-type': asset.type, ...headers }, asset.bytes, isHead)
    }
    return true
  }
}
