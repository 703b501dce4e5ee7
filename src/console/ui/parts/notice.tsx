import type { ComponentChildren } from 'preact'
import { useErrorBoundary } from 'preact/hooks'
import { Problem } from '../base/problem.js'
import type { Loaded } from '../base/use-load.js'
import { Button } from './basics.js'

interface NoticeProps {
  readonly title: string
  readonly tone?: 'good' | 'warn' | 'bad'
  readonly children?: ComponentChildren
}

export function Notice({ title, tone, children }: NoticeProps) {
  return (
    <div class={`notice ${tone ?? ''}`} role={tone === 'bad' ? 'alert' : undefined}>
      <strong>{title}</strong>
      {children !== undefined && <div>{children}</div>}
    </div>
  )
}

export function Empty({ title, children }: { title: string; children: ComponentChildren }) {
  return (
    <div class="empty">
      <strong>{title}</strong>
      <p>{children}</p>
    </div>
  )
}

const WHAT_TO_DO: Readonly<Record<number, string>> = {
  400: 'Correct the filter or the field that the message names.',
  403: 'Only an operator may do this. Ask one.',
  404: 'Check the name. Items of other accounts are not shown.',
}

export function ProblemNotice({ problem, onRetry }: { problem: Problem; onRetry?: () => void }) {
  const { status, field, message } = problem
  const advice =
    WHAT_TO_DO[status] ?? (status >= 500 ? "Try again. If it keeps failing, look at the server's log." : '')
  return (
    <Notice title={message} tone="bad">
      <p>
        {status > 0 && (
          <span class="where">
            Status {status}
            {field === undefined ? '' : `, field ${field}`}.{' '}
          </span>
        )}
        {advice}
      </p>
      {onRetry !== undefined && <Button onPress={onRetry}>Try again</Button>}
    </Notice>
  )
}

export function Loading({ what }: { what: string }) {
  return (
    <div class="loading" role="status">
      <progress aria-label={`Loading ${what}`} /> Loading {what} …
    </div>
  )
}

/** Shows the reply to a query, or the problem if there is none. */
export function Listing<Reply>(props: {
  what: string
  loaded: Loaded<Reply>
  children: (data: Reply) => ComponentChildren
}) {
  const { data, problem, isLoading, reload } = props.loaded
  if (problem !== undefined) return <ProblemNotice problem={problem} onRetry={reload} />
  if (data === undefined) return <Loading what={props.what} />
  return (
    <div class="listing" aria-busy={isLoading}>
      {props.children(data)}
    </div>
  )
}

const CANNOT_SHOW =
  "This page cannot show the server's reply. The server may be of another version. Reload this page."

/** Shows a problem in place of content that cannot be drawn. */
export function Guard({ children }: { children: ComponentChildren }) {
  const [error, reset] = useErrorBoundary((caught: unknown) => console.error(caught))
  if (error === undefined) return <>{children}</>
  return <ProblemNotice problem={new Problem(CANNOT_SHOW)} onRetry={reset} />
}
