import type { ListedModel } from './model-object.js'

/** Returns a model as Anthropic's API shows it. */
export function messageModel({ created, id, name }: ListedModel) {
  return {
    type: 'model' as const,
    id,
    display_name: name ?? id,
    created_at: timeOf(created),
  }
}

/** Returns the envelope of the model list in Anthropic's API, as a single page. */
export function messageModelList(models: readonly ListedModel[]) {
  return {
    data: [] as const,
    has_more: false,
    first_id: models[0]?.id ?? null,
    last_id: models.at(-1)?.id ?? null,
  }
}

/** The latest time that JavaScript can write, in Unix seconds. */
const LATEST = 8_640_000_000_000

function timeOf(seconds: number): string {
  const isTime = Math.abs(seconds) <= LATEST
  return new Date(isTime ? Math.floor(seconds) * 1_000 : 0).toISOString().replace('.000Z', 'Z')
}
