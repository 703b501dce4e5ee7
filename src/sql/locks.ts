import type { SqlDatabase, Statement } from './database.js'

/**
 * Returns statements that admit one transaction at a time under a name, until it ends. Later statements see everything
 * that the previous transaction did. SQLite has a single writer anyway.
 */
export function lockName({ engine }: SqlDatabase, name: string): readonly Statement[] {
  if (engine === 'sqlite') return []
  return [{ text: 'select pg_advisory_xact_lock(hashtextextended(?1, 0))', parameters: [name] }]
}
