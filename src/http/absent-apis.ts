/** APIs of OpenAI and others that no router has, by the first segment of their paths. */
const ABSENT: ReadonlyMap<string, string> = new Map([
  ['images', 'images'],
  ['videos', 'videos'],
  ['audio', 'audio'],
  ['realtime', 'realtime sessions'],
  ['moderations', 'moderations'],
  ['rerank', 'reranking'],
  ['files', 'files'],
  ['uploads', 'uploads'],
  ['vector_stores', 'vector stores'],
  ['batches', 'batches'],
  ['fine_tuning', 'fine-tuning'],
  ['assistants', 'assistants'],
  ['threads', 'threads'],
  ['conversations', 'stored conversations'],
  ['evals', 'evals'],
  ['containers', 'containers'],
])

/** Returns the first sentence of the 404 for a path below the mount. */
export function describeAbsence(path: string | undefined): string {
  const [first, second] = path?.split('/').filter(Boolean) ?? []
  if (first === 'completions' && second === undefined) {
    return 'There is no POST /completions: send the prompt as a message to POST /chat/completions.'
  }
  const api = ABSENT.get(first ?? '')
  return api === undefined ? 'There is no endpoint at this path.' : `This service has no API for ${api}.`
}
