/** The settings of the example server, from the environment. */
export interface Settings {
  readonly host: string
  readonly port: number
  /** Where balances and keys are kept. */
  readonly database: DatabaseSettings
  /** Whether to replace the demo keys with new ones. */
  readonly newKeys: boolean
  /** A real provider. If absent, the server starts its own stand-in. */
  readonly upstream?: UpstreamSettings
}

export type DatabaseSettings = (
  | { readonly kind: 'sqlite'; readonly file: string }
  | { readonly kind: 'postgres'; readonly url: string; readonly schema?: string }
) & {
  /** `id:key` pairs that encrypt providers' keys. If absent, the key is in a file beside the database. */
  readonly secretKeys?: string
}

export interface UpstreamSettings {
  readonly baseUrl: string
  readonly apiKey?: string
  /** Maps model ids to the upstream's names. If absent, all models that the upstream lists are offered. */
  readonly models?: Readonly<Record<string, string>>
}

/** A setting that cannot be used. The message names it and says what to do. */
export class SettingsError extends Error {
  override readonly name = 'SettingsError'
}

type Environment = Readonly<Record<string, string | undefined>>

/**
 * Reads `PORT`, `HOST`, `UPSTREAM_BASE_URL`, `UPSTREAM_API_KEY` and `UPSTREAM_MODELS`, the variables that the package's
 * command line reads for its database, and the flag. Throws a {@link SettingsError}.
 */
export function readSettings(env: Environment, args: readonly string[] = []): Settings {
  const unknown = args.find((arg) => arg !== '--new-keys')
  if (unknown !== undefined) {
    throw new SettingsError(`Unknown flag ${unknown}. The only one is: npm start -- --new-keys`)
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
    throw new SettingsError(`PORT must be a number from 0 to 65535, such as 3000; got "${text}".`)
  }
  return Number(text)
}

function readDatabase(env: Environment): DatabaseSettings {
  const url = env.DATABASE_URL
  const sealing = env.COMPAT_ROUTER_SECRET_KEYS ? { secretKeys: env.COMPAT_ROUTER_SECRET_KEYS } : {}
  if (!url) return { kind: 'sqlite', file: env.COMPAT_ROUTER_FILE || '.data/compat-router.db', ...sealing }
  if (!URL.canParse(url) || !['postgres:', 'postgresql:'].includes(new URL(url).protocol)) {
    throw new SettingsError(
      'DATABASE_URL must be the URL of a PostgreSQL database, such as postgres://user:password@localhost:5432/credits. If it is not set, an SQLite file is used.',
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
      'UPSTREAM_BASE_URL must be an http or https URL, such as https://api.openai.com/v1.',
    )
  }
  if (url.username !== '' || url.password !== '' || url.search !== '' || url.hash !== '') {
    throw new SettingsError(
      'UPSTREAM_BASE_URL must not contain credentials, a query or a fragment. Put the key into UPSTREAM_API_KEY.',
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
          `acme/fast=gpt-4o-mini,acme/smart=gpt-4o; got "${pair.trim()}".`,
      )
    }
    if (models.has(key)) throw new SettingsError(`UPSTREAM_MODELS names the model "${key}" twice.`)
    models.set(key, name)
  }
  return Object.fromEntries(models)
}
