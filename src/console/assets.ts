import { createHash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { dirname, extname, join, sep } from 'node:path'
import { pathOfOwn } from '../base/own-files.js'

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
  return join(dirname(pathOfOwn('package.json')), 'dist', 'console')
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
