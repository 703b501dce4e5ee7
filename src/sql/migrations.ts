import type { SchemaWords } from './tables.js'

/** One step of the schema. Its number and its statements never change once released; a later step mends an earlier one. */
export interface Migration {
  readonly version: number
  readonly name: string
  readonly statements: readonly string[]
}

/** The table that says which steps have been taken. */
export function migrationsTable(words: SchemaWords): string {
  return `create table if not exists {migrations} (
    version ${words.integer} primary key,
    name text not null,
    applied_at ${words.integer} not null
  ) ${words.plain}`
}

/**
 * The steps that a database at a version still needs. Throws if a later release than this has made it: its rows may
 * mean something else.
 */
export function pendingMigrations(
  found: number,
  migrations: readonly Migration[],
  where: string,
): readonly Migration[] {
  const known = migrations.at(-1)?.version ?? 0
  if (found > known) {
    throw new Error(
      `${where} has schema version ${found}, and this release of compat-router knows up to ${known}: upgrade compat-router`,
    )
  }
  return migrations.filter(({ version }) => version > found)
}
