import type { AppModels } from '../contracts/credentials.js'

/** Whether the models of an app include this one. */
export function includesModel(models: AppModels, id: string): boolean {
  return models === 'all' || models.includes(id)
}

/** Whether these models include all of the others, and all that come later if the others do. */
export function includesModels(models: AppModels, others: AppModels): boolean {
  if (models === 'all') return true
  const known = new Set(models)
  return others !== 'all' && others.every((id) => known.has(id))
}

/** Returns the models that both include. */
export function commonModels(one: AppModels, other: AppModels): AppModels {
  if (other === 'all') return one
  if (one === 'all') return other
  const known = new Set(other)
  return one.filter((id) => known.has(id))
}
