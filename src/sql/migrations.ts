import type { Row } from './database.js'
import type { SchemaWords } from './tables.js'

/** One step of the schema. Its number, name and statements never change once released; a later step corrects an earlier one. */
export interface Migration {
  readonly version: number
  readonly name: string
  readonly statements: readonly string[]
}

/** The table of the migrations that have been applied. */
export function migrationsTable(words: SchemaWords): string {
  return `create table if not exists {migrations} (
    version ${words.integer} primary key,
    name text not null,
    applied_at ${words.integer} not null
  ) ${words.plain}`
}

/** Selects the rows for {@link pendingMigrations}. */
export const APPLIED = 'select version, name from {migrations} order by version'

/**
 * Returns the migrations that a database still needs, after those that it had `applied`. Throws if a later release or an
 * unreleased build created its schema, because the rows may have another meaning.
 */
export function pendingMigrations(
  applied: readonly Row[],
  migrations: readonly Migration[],
  database: string,
): readonly Migration[] {
  const names = new Map(applied.map(({ version, name }) => [Number(version), name]))
  for (const { version, name } of migrations) {
    const found = names.get(version)
    if (found !== undefined && found !== name) {
      throw new Error(
        `${database} was created by an unreleased build of compat-router, whose tables differ: its migration ${version} is "${found}" instead of "${name}". Use a new database`,
      )
    }
  }
  const found = Math.max(0, ...names.keys())
  const known = migrations.at(-1)?.version ?? 0
  if (found > known) {
    throw new Error(
      `${database} has schema version ${found}, and this release of compat-router knows up to ${known}: upgrade compat-router`,
    )
  }
  return migrations.filter(({ version }) => version > found)
}
