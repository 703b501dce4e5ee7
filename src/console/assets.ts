import { createHash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import type { ServerResponse } from 'node:http'
import { extname, join, sep } from 'node:path'
import { pathOfOwn } from '../base/own-files.js'
import type { ConsoleRequest } from './request.js'
import { HttpError } from './serving/http-error.js'
import { send, sendError } from './serving/reply.js'

export interface Asset {
  readonly bytes: Buffer
  readonly type: string
  readonly etag: string
  /** Its name changes with its content. */
  readonly isImmutable: boolean
}

/** Files by their path below the mount, such as `/assets/index-4f2c.js`; the page itself is `/`. */
export type Assets = ReadonlyMap<string, Asset>

const TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.png': 'image/png',
  '.ico': 'image/x-icon',
  '.woff2': 'font/woff2',
  '.json': 'application/json; charset=utf-8',
  '.webmanifest': 'application/manifest+json; charset=utf-8',
  '.txt': 'text/plain; charset=utf-8',
}

/** Returns the folder that the build writes the pages to. */
export function assetsFolder(): string {
  return pathOfOwn('console')
}

/** Reads every file of a folder. Returns undefined if the page is missing because nothing was built. */
export function readAssets(folder: string): Assets | undefined {
  const assets = new Map<string, Asset>()
  for (const name of namesIn(folder)) {
    const type = TYPES[extname(name)]
    if (type === undefined) continue
    const path = `/${name.split(sep).join('/')}`
    const bytes = readFileSync(join(folder, name))
    const etag = `"${createHash('sha256').update(bytes).digest('base64url').slice(0, 22)}"`
    assets.set(path === '/index.html' ? '/' : path, {
      bytes,
      type,
      etag,
      isImmutable: path.startsWith('/assets/'),
    })
  }
  return assets.has('/') ? assets : undefined
}

function namesIn(folder: string): readonly string[] {
  try {
    return readdirSync(folder, { recursive: true, encoding: 'utf8' })
  } catch {
    return []
  }
}

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
