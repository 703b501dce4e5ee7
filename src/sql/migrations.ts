import type { SchemaWords } from './tables.js'

/** One step of the schema. Its number and statements never change once released; a later step corrects an earlier one. */
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

/**
 * Returns the migrations that a database of version `found` still needs. Throws if a later release created its schema,
 * because the rows may have another meaning.
 */
export function pendingMigrations(
  found: number,
  migrations: readonly Migration[],
  database: string,
): readonly Migration[] {
  const known = migrations.at(-1)?.version ?? 0
  if (found > known) {
    throw new Error(
      `${database} has schema version ${found}, and this release of compat-router knows up to ${known}: upgrade compat-router`,
    )
  }
  return migrations.filter(({ version }) => version > found)
}
