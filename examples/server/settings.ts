/** What the environment says about the example server. */
export interface Settings {
  readonly host: string
  readonly port: number
  /** Where balances and keys are kept. */
  readonly database: DatabaseSettings
  /** Puts new demo keys in place of those that were shown. */
  readonly newKeys: boolean
  /** A real provider. Without one the server starts a stand-in of its own. */
  readonly upstream?: UpstreamSettings
}

export type DatabaseSettings = (
  | { readonly kind: 'sqlite'; readonly file: string }
  | { readonly kind: 'postgres'; readonly url: string; readonly schema?: string }
) & {
  /** `id:key` pairs that providers' keys are sealed under. Without them a file beside the database is used. */
  readonly secretKeys?: string
}

export interface UpstreamSettings {
  readonly baseUrl: string
  readonly apiKey?: string
  /** Model key to upstream name. Without it, the upstream's own list is offered. */
  readonly models?: Readonly<Record<string, string>>
}

/** A variable of the environment that cannot be used. The message says which, and what to do. */
export class SettingsError extends Error {
  override readonly name = 'SettingsError'
}

type Environment = Readonly<Record<string, string | undefined>>

/**
 * Reads `PORT`, `HOST`, `UPSTREAM_BASE_URL`, `UPSTREAM_API_KEY` and `UPSTREAM_MODELS`, what the command line of the
 * package reads for its database, and the one flag. Throws a {@link SettingsError}.
 */
export function readSettings(env: Environment, args: readonly string[] = []): Settings {
  const stranger = args.find((arg) => arg !== '--new-keys')
  if (stranger !== undefined) {
    throw new SettingsError(`There is no flag ${stranger}; there is only: npm start -- --new-keys`)
  }
  const upstream = readUpstream(env)
  return {
    host: env.HOST || '127.0.0.1',
    port: readPort(env.PORT),
    database: readDatabase(env),
    newKeys: args.length > 0,
    ...(upstream === undefined ? {} : { upstream }),
  }
}

function readPort(text: string | undefined): number {
  if (text === undefined || text === '') return 3000
  if (!/^\d{1,5}$/.test(text) || Number(text) > 65_535) {
    throw new SettingsError(`PORT must be a number from 0 to 65535, such as 3000; it is "${text}".`)
  }
  return Number(text)
}

function readDatabase(env: Environment): DatabaseSettings {
  const url = env.DATABASE_URL
  const sealing = env.COMPAT_ROUTER_SECRET_KEYS ? { secretKeys: env.COMPAT_ROUTER_SECRET_KEYS } : {}
  if (!url) return { kind: 'sqlite', file: env.COMPAT_ROUTER_FILE || '.data/compat-router.db', ...sealing }
  if (!URL.canParse(url) || !['postgres:', 'postgresql:'].includes(new URL(url).protocol)) {
    throw new SettingsError(
      'DATABASE_URL must be the address of a PostgreSQL database, such as postgres://user:password@localhost:5432/credits. Without it a SQLite file is used.',
    )
  }
  const schema = env.COMPAT_ROUTER_SCHEMA
  return { kind: 'postgres', url, ...(schema ? { schema } : {}), ...sealing }
}

function readUpstream(env: Environment): UpstreamSettings | undefined {
  if (!env.UPSTREAM_BASE_URL) {
    const alone = ['UPSTREAM_API_KEY', 'UPSTREAM_MODELS'].find((name) => env[name])
    if (alone === undefined) return undefined
    throw new SettingsError(
      `${alone} is set, but UPSTREAM_BASE_URL is not. Set it too, such as https://api.openai.com/v1.`,
    )
  }
  return {
    baseUrl: readBaseUrl(env.UPSTREAM_BASE_URL),
    ...(env.UPSTREAM_API_KEY ? { apiKey: env.UPSTREAM_API_KEY } : {}),
    ...(env.UPSTREAM_MODELS ? { models: readModels(env.UPSTREAM_MODELS) } : {}),
  }
}

function readBaseUrl(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (url === undefined || !['http:', 'https:'].includes(url.protocol)) {
    throw new SettingsError(
      'UPSTREAM_BASE_URL must be an http or https address, such as https://api.openai.com/v1.',
    )
  }
  if (url.username !== '' || url.password !== '' || url.search !== '' || url.hash !== '') {
    throw new SettingsError(
      'UPSTREAM_BASE_URL must hold no credentials, query or fragment; the key goes into UPSTREAM_API_KEY.',
    )
  }
  return text.replace(/\/+$/, '')
}

function readModels(text: string): Readonly<Record<string, string>> {
  const models = new Map<string, string>()
  for (const pair of text.split(',')) {
    const [, key, name] = /^\s*([^=\s]+)\s*=\s*(\S+)\s*$/.exec(pair) ?? []
    if (key === undefined || name === undefined) {
      throw new SettingsError(
        'UPSTREAM_MODELS must be a list of key=upstream-name pairs, such as ' +
          `acme/fast=gpt-4o-mini,acme/smart=gpt-4o; "${pair.trim()}" is none.`,
      )
    }
    if (models.has(key)) throw new SettingsError(`UPSTREAM_MODELS names the model "${key}" twice.`)
    models.set(key, name)
  }
  return Object.fromEntries(models)
}
