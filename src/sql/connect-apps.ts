import { present } from '../base/present.js'
import type { App, AppLogo, AppLogoReference, RegisteredApp, RegisteredApps } from '../contracts/index.js'
import { readJson, readOptionalText, readText } from './cells.js'
import type { Row, SqlDatabase } from './database.js'

/** The JSON of `apps.definition`. */
export interface AppDefinition extends App {
  readonly redirectUris?: readonly string[]
  readonly origins?: readonly string[]
  readonly site?: string
  readonly suggestedCap?: string
  readonly testers?: readonly string[]
}

export function createSqlConnectApps(database: SqlDatabase): RegisteredApps {
  return {
    async findApp(id) {
      const [row] = await database.all({
        text: `select p.*, l.type as logo_type from {apps} p
          left join {app_logos} l on l.app_id = p.id and l.hash = p.logo_hash where p.id = ?1`,
        parameters: [id],
      })
      return row === undefined ? undefined : readConnectApp(row)
    },
    async findLogo(appId, hash) {
      const [row] = await database.all({
        text: `select l.type, l.bytes from {apps} p join {app_logos} l on l.app_id = p.id and l.hash = p.logo_hash
          where p.id = ?1 and l.hash = ?2`,
        parameters: [appId, hash],
      })
      return row === undefined ? undefined : readLogo(row, hash)
    },
  }
}

export function readLogo(row: Row, hash: string): AppLogo {
  return {
    hash,
    type: readText(row, 'type') as AppLogo['type'],
    bytes: Buffer.from(readText(row, 'bytes'), 'base64'),
  }
}

/** Reads the reference to an app's logo from the columns `logo_hash` and `logo_type`. */
export function readLogoReference(row: Row): AppLogoReference | undefined {
  const hash = readOptionalText(row, 'logo_hash')
  const type = readOptionalText(row, 'logo_type')
  return hash === undefined || type === undefined ? undefined : { hash, type: type as AppLogo['type'] }
}

function readConnectApp(row: Row): RegisteredApp {
  const app = readJson<AppDefinition>(row, 'definition')
  const { name, site, suggestedCap } = app
  return {
    id: app.id,
    ...present({
      name,
      site,
      suggestedCap,
      logo: readLogoReference(row),
      owner: readOptionalText(row, 'owner'),
    }),
    redirectUris: app.redirectUris ?? [],
    allowedModels: app.allowedModels,
    markup: app.markup,
    state: readText(row, 'state') as RegisteredApp['state'],
    testers: app.testers ?? [],
    suspended: row.suspended_at !== null,
  }
}

/** The origins of the browser pages that may use an app's tokens: those it names, or else those of its https redirect URIs. */
export function originsOf({ origins, redirectUris = [] }: AppDefinition): readonly string[] | undefined {
  if (origins !== undefined) return origins
  const https = redirectUris.filter((uri) => uri.startsWith('https:')).map((uri) => new URL(uri).origin)
  return https.length === 0 ? undefined : [...new Set(https)]
}
