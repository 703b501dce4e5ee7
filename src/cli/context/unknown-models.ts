import type { Admin } from '../../admin/index.js'
import type { CommandContext } from './context.js'

/** Says which of these models do not exist yet: a misspelt id is allowed, and nothing would use it. */
export async function sayUnknownModels(
  context: CommandContext,
  admin: Admin,
  ids: readonly string[] = [],
): Promise<void> {
  if (ids.length === 0) return
  const known = new Set((await admin.models.list({ modelIds: ids })).map(({ id }) => id))
  for (const id of ids)
    if (!known.has(id)) context.say(`There is no model ${id} yet: npx compat-router models list`)
}
