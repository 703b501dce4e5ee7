import { useCallback, useEffect, useState } from 'preact/hooks'
import type { QueryOf, ReadPath, ReplyOf } from '../../protocol.js'
import { read } from './api.js'
import { asProblem, type Problem } from './problem.js'

/** The state of a query. `data` stays while a new reply loads, unless the query has changed. */
export interface Loaded<Reply> {
  readonly data?: Reply
  readonly problem?: Problem
  readonly isLoading: boolean
  reload(): void
}

type State<Reply> = Omit<Loaded<Reply>, 'reload'> & { readonly question: string }

export function useLoad<Path extends ReadPath>(
  path: Path,
  query: QueryOf<Path>,
  { isOff = false }: { isOff?: boolean } = {},
): Loaded<ReplyOf<Path>> {
  const question = isOff ? '' : JSON.stringify([path, query])
  const [state, setState] = useState<State<ReplyOf<Path>>>({ question, isLoading: true })
  const [round, setRound] = useState(0)
  useEffect(() => {
    if (question === '') return
    const controller = new AbortController()
    setState((before) => ({ ...(before.question === question && before), question, isLoading: true }))
    read(path, query, controller.signal)
      .then((data) => setState({ question, data, isLoading: false }))
      .catch((caught: unknown) => {
        if (!controller.signal.aborted) setState({ question, problem: asProblem(caught), isLoading: false })
      })
    return () => controller.abort()
  }, [question, round])
  const reload = useCallback(() => setRound((before) => before + 1), [])
  const isCurrent = state.question === question
  return { ...(isCurrent && state), isLoading: !isOff && (!isCurrent || state.isLoading), reload }
}
