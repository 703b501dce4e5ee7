import { type ComponentChildren, createContext, Fragment } from 'preact'
import { useContext, useState } from 'preact/hooks'
import { formatTime } from '../base/format.js'
import { useSession } from '../base/session.js'

export function PageHead(props: { title: string; lead?: string; children?: ComponentChildren }) {
  const { title, lead, children } = props
  return (
    <header class="page-head">
      <div>
        <h1 id="page-title" tabIndex={-1}>
          {title}
        </h1>
        {lead !== undefined && <p class="lead">{lead}</p>}
      </div>
      {children !== undefined && <div class="actions">{children}</div>}
    </header>
  )
}

interface ButtonProps {
  readonly onPress: () => void
  readonly children: ComponentChildren
  /** The object of the action, for people who only hear the button. */
  readonly of?: string
  readonly tone?: 'primary' | 'danger' | 'quiet'
  readonly isDisabled?: boolean
}

export function Button({ onPress, children, of, tone, isDisabled }: ButtonProps) {
  return (
    <button type="button" class={`button ${tone ?? ''}`} onClick={onPress} disabled={isDisabled}>
      {children}
      {of !== undefined && <span class="unseen"> {of}</span>}
    </button>
  )
}

/** An action on one row of a table, which `of` names. */
export function RowButton({ label, ...rest }: Omit<ButtonProps, 'children'> & { readonly label: string }) {
  return (
    <Button tone="quiet" {...rest}>
      {label}
    </Button>
  )
}

/** A link to a page about one row of a table, which `of` names. */
export function RowLink({ label, of, href }: { label: string; of: string; href: string }) {
  return (
    <a class="button quiet" href={href}>
      {label}
      <span class="unseen"> {of}</span>
    </a>
  )
}

/** Chooses one of a few options. */
export function Choice<Value extends string>(props: {
  label: string
  options: readonly { readonly value: Value; readonly label: string }[]
  /** Undefined if none of them is chosen. */
  value: Value | undefined
  onChange(value: Value): void
}) {
  return (
    <fieldset class="choice">
      <legend class="unseen">{props.label}</legend>
      {props.options.map(({ value, label }) => (
        <button
          key={value}
          type="button"
          aria-pressed={value === props.value}
          onClick={() => props.onChange(value)}
        >
          {label}
        </button>
      ))}
    </fieldset>
  )
}

export function CopyButton({ text, what }: { text: string; what: string }) {
  const { announce } = useSession()
  const [isCopied, setCopied] = useState(false)
  const copy = (): void => {
    copyText(text)
      .then(() => {
        setCopied(true)
        announce(`Copied the ${what}.`)
      })
      .catch(() =>
        announce(`The browser does not let this page copy. Select the ${what} and copy it by hand.`),
      )
  }
  return (
    <Button onPress={copy} of={`the ${what}`}>
      {isCopied ? 'Copied' : 'Copy'}
    </Button>
  )
}

/** Browsers offer the clipboard only on secure origins; the older way works elsewhere. */
async function copyText(text: string): Promise<void> {
  if (navigator.clipboard !== undefined) return navigator.clipboard.writeText(text)
  const area = document.createElement('textarea')
  area.value = text
  const host = document.querySelector('dialog[open]') ?? document.body
  host.append(area)
  area.select()
  const isDone = document.execCommand('copy')
  area.remove()
  if (!isDone) throw new Error('copying was refused')
}

/** In UTC, or in the given time zone. */
export function Time({ at, zone }: { at: number | undefined; zone?: string }) {
  if (at === undefined) return <>–</>
  return (
    <time dateTime={new Date(at).toISOString()} class="time">
      {formatTime(at, zone)}
    </time>
  )
}

export function Badge({ tone, children }: { tone?: 'good' | 'warn' | 'bad'; children: ComponentChildren }) {
  return <span class={`badge ${tone ?? ''}`}>{children}</span>
}

/** Whether a row of a table is one line. */
export const OneLine = createContext(false)

/** An id such as `openai:acme/fast`, with places at which a line may break. In one line, it may be cut off. */
export function Id({ of }: { of: string | undefined }) {
  const isOneLine = useContext(OneLine)
  if (of === undefined) return <>–</>
  if (isOneLine) {
    return (
      <code class="id" title={of}>
        {of}
      </code>
    )
  }
  return (
    <code class="id">
      {piecesOf(of).map((part, at) => (
        <Fragment key={at}>
          {at > 0 && <wbr />}
          {part}
        </Fragment>
      ))}
    </code>
  )
}

/** Splits an id after each separator, and pieces that are too long for any column. */
function piecesOf(id: string): readonly string[] {
  return id.split(/(?<=[/:_])/).flatMap((part) => part.match(/.{1,22}/gsu) ?? [])
}

/** Names with their values. Undefined values are omitted. */
export function Facts({ of }: { of: readonly (readonly [string, ComponentChildren | undefined])[] }) {
  return (
    <dl class="facts">
      {of
        .filter(([, value]) => value !== undefined && value !== '')
        .map(([name, value]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ))}
    </dl>
  )
}

/** A figure with its name, larger than in tables. */
export function Figure(props: {
  name: ComponentChildren
  children: ComponentChildren
  note?: ComponentChildren
}) {
  const { name, children, note } = props
  return (
    <div class="figure">
      <dt>{name}</dt>
      <dd>
        {children}
        {note !== undefined && <span class="figure-note">{note}</span>}
      </dd>
    </div>
  )
}
