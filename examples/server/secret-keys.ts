import { randomBytes } from 'node:crypto'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { SecretKey } from 'compat-router/sqlite'
import { type DatabaseSettings, SettingsError } from './settings.js'

const SERVER_FOLDER = '.data'
const KEY_BYTES = 32

/**
 * The keys that providers' secrets are sealed under in the database: those of `COMPAT_ROUTER_SECRET_KEYS`, else the one
 * in a file beside the database, which is made where there is none and is its owner's alone to read.
 */
export function readSecretKeys(settings: DatabaseSettings): readonly SecretKey[] {
  if (settings.secretKeys !== undefined) return parse(settings.secretKeys, 'COMPAT_ROUTER_SECRET_KEYS')
  const file = join(settings.kind === 'sqlite' ? dirname(settings.file) : SERVER_FOLDER, 'secret.key')
  return parse(readOrMake(file), file)
}

function readOrMake(file: string): string {
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
    // Another server of the same start was first.
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
          `${where} must hold id:key pairs parted by commas, each key 32 bytes as hex or base64. Provider keys in the database open only with the key that they were sealed under.`,
        )
      }
      return { id, key }
    })
}

function cannot(file: string, error: unknown): SettingsError {
  return new SettingsError(
    `${file} cannot be used (${(error as Error).message}). It seals providers' keys in the database; put keys into COMPAT_ROUTER_SECRET_KEYS instead, or correct its folder and owner.`,
  )
}
