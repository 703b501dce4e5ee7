import type { SqlDatabase, Statement } from './database.js'

/**
 * Statements that let one transaction at a time pass under a name, until it ends. The statements after them see
 * everything that the previous one did. SQLite has one writer at a time anyway.
 */
export function lockName({ engine }: SqlDatabase, name: string): readonly Statement[] {
  if (engine === 'sqlite') return []
  return [{ text: 'select pg_advisory_xact_lock(hashtextextended(?1, 0))', parameters: [name] }]
}
