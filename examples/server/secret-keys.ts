import { randomBytes } from 'node:crypto'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { SecretKey } from 'compat-router/sqlite'
import { type DatabaseSettings, SettingsError } from './settings.js'

const SERVER_FOLDER = '.data'
const KEY_BYTES = 32

/**
 * Returns the keys that encrypt providers' secrets in the database: those of `COMPAT_ROUTER_SECRET_KEYS`, otherwise the
 * key in a file beside the database. The file is created if it does not exist, and only its owner can read it.
 */
export function readSecretKeys(settings: DatabaseSettings): readonly SecretKey[] {
  if (settings.secretKeys !== undefined) return parse(settings.secretKeys, 'COMPAT_ROUTER_SECRET_KEYS')
  const file = join(settings.kind === 'sqlite' ? dirname(settings.file) : SERVER_FOLDER, 'secret.key')
  return parse(readOrCreate(file), file)
}

function readOrCreate(file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw cannot(file, error)
  }
  const text = `${new Date().toISOString().slice(0, 10)}:${randomBytes(KEY_BYTES).toString('hex')}\n`
  try {
    mkdirSync(dirname(file), { recursive: true, mode: 0o700 })
    writeFileSync(file, text, { flag: 'wx', mode: 0o600 })
    return text
  } catch (error) {
    // Another server that starts at the same moment has created it.
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return readFileSync(file, 'utf8')
    throw cannot(file, error)
  }
}

function parse(text: string, where: string): readonly SecretKey[] {
  return text
    .trim()
    .split(',')
    .map((pair) => {
      const [, id, key] = /^\s*([^:\s]+):([0-9a-f]{64}|[A-Za-z0-9+/_-]{43}=?)\s*$/i.exec(pair) ?? []
      if (id === undefined || key === undefined) {
        throw new SettingsError(
          `${where} must contain id:key pairs separated by commas, each key 32 bytes as hex or base64. Provider keys in the database can only be decrypted with the key that encrypted them.`,
        )
      }
      return { id, key }
    })
}

function cannot(file: string, error: unknown): SettingsError {
  return new SettingsError(
    `${file} cannot be used (${(error as Error).message}). Its key encrypts providers' keys in the database. Correct its folder and owner, or set COMPAT_ROUTER_SECRET_KEYS instead.`,
  )
}
