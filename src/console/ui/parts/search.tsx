import { useEffect, useId, useRef, useState } from 'preact/hooks'
import type { FoundView } from '../../protocol.js'
import { hrefOf } from '../base/place.js'
import { useSession } from '../base/session.js'
import { useLoad } from '../base/use-load.js'
import { Id } from './basics.js'
import { Dialog } from './dialogs.js'
import { ProblemNotice } from './notice.js'

/** The groups of results, in the order in which they are shown. */
const GROUPS: readonly { readonly label: string; readonly has: (found: FoundView) => boolean }[] = [
  { label: 'Accounts', has: ({ kind }) => kind === 'account' },
  { label: 'Keys', has: ({ kind, source }) => kind === 'credential' && source !== 'connect' },
  { label: 'Connected apps', has: ({ kind, source }) => kind === 'credential' && source === 'connect' },
  { label: 'Apps', has: ({ kind }) => kind === 'app' },
  { label: 'Calls', has: ({ kind }) => kind === 'call' },
  { label: 'Holds', has: ({ kind }) => kind === 'hold' },
  { label: 'Entries of the ledger', has: ({ kind }) => kind === 'entry' },
  { label: 'Sessions', has: ({ kind }) => kind === 'session' },
]

/** The server finds at most this many. */
const MOST = 20
const PAUSE_MS = 120

/** The types of a combobox ask for it, but its results are a list of their own. */
const NO_DATALIST = { list: undefined }

/** Finds anything by its id, or by the beginning of its name. The arrow keys choose a result, and Enter opens it. */
export function Search({ onClose }: { onClose: () => void }) {
  const { publishes } = useSession()
  const id = useId()
  const list = useRef<HTMLDivElement>(null)
  const [typed, setTyped] = useState('')
  const [chosen, setChosen] = useState(0)
  const text = useSettled(typed.trim())
  const { data, problem, isLoading, reload } = useLoad('find', { text }, { isOff: text === '' })
  const found = text === '' ? [] : (data?.found ?? [])
  const groups = GROUPS.map(({ label, has }) => ({ label, rows: found.filter(has) })).filter(
    ({ rows }) => rows.length > 0,
  )
  const rows = groups.flatMap((group) => group.rows)
  const current = Math.min(chosen, rows.length - 1)
  const optionId = (index: number): string => `${id}-${index}`

  const move = (to: number): void => {
    if (rows.length === 0) return
    const next = (to + rows.length) % rows.length
    setChosen(next)
    list.current?.querySelectorAll('[role=option]')[next]?.scrollIntoView({ block: 'nearest' })
  }
  const press = (event: KeyboardEvent): void => {
    if (event.key === 'ArrowDown') move(current + 1)
    else if (event.key === 'ArrowUp') move(current - 1)
    else if (event.key === 'Enter') list.current?.querySelector<HTMLElement>('[aria-selected=true]')?.click()
    else return
    event.preventDefault()
  }

  return (
    <Dialog title="Search" onClose={onClose}>
      <div class="search">
        <input
          {...NO_DATALIST}
          type="text"
          role="combobox"
          aria-autocomplete="list"
          aria-label="An id, or the beginning of a name"
          aria-describedby={`${id}-hint`}
          aria-expanded={rows.length > 0}
          aria-controls={`${id}-list`}
          aria-activedescendant={rows.length > 0 ? optionId(current) : undefined}
          autocomplete="off"
          autocapitalize="none"
          spellcheck={false}
          value={typed}
          onInput={({ currentTarget: { value } }) => {
            setTyped(value)
            setChosen(0)
          }}
          onKeyDown={press}
        />
        <p class="hint" id={`${id}-hint`}>
          An id of an account, key, app, reply, request, hold, entry, payment or session, or the beginning of
          the name of an account, a key or an app.
        </p>
        {problem !== undefined && <ProblemNotice problem={problem} onRetry={reload} />}
        <div id={`${id}-list`} ref={list} class="found" role="listbox" aria-label="Results">
          {groups.map((group, at) => (
            // biome-ignore lint/a11y/useSemanticElements: within a listbox, a fieldset would not be a group of options.
            <div key={group.label} role="group" aria-labelledby={`${id}-group-${at}`}>
              <div class="found-kind" id={`${id}-group-${at}`} role="presentation">
                {group.label}
              </div>
              {group.rows.map((row) => {
                const index = rows.indexOf(row)
                return (
                  <a
                    key={`${row.kind} ${row.id} ${row.account ?? ''}`}
                    id={optionId(index)}
                    role="option"
                    aria-selected={index === current}
                    tabIndex={-1}
                    href={placeOf(row, publishes)}
                    onClick={onClose}
                    onMouseMove={() => setChosen(index)}
                  >
                    <Result of={row} />
                  </a>
                )
              })}
            </div>
          ))}
        </div>
        <p class="hint" role="status">
          {stateOf({ text, isLoading, count: data?.found.length })}
        </p>
      </div>
    </Dialog>
  )
}

/** Returns a text once nobody has changed it for a moment, so that not every letter is searched for. */
function useSettled(text: string): string {
  const [settled, setSettled] = useState(text)
  useEffect(() => {
    const timer = setTimeout(() => setSettled(text), PAUSE_MS)
    return () => clearTimeout(timer)
  }, [text])
  return settled
}

function stateOf(search: { text: string; isLoading: boolean; count: number | undefined }): string {
  const { text, isLoading, count } = search
  if (text === '') return ''
  if (count === undefined) return isLoading ? 'Searching …' : ''
  if (count === 0) return 'Nothing that you may see has this id or a name that begins like this.'
  if (count >= MOST) return `The first ${MOST} are shown. Type more of the name.`
  return count === 1 ? 'One result.' : `${count} results.`
}

function Result({ of: { kind, id, name, account } }: { of: FoundView }) {
  return (
    <>
      {name !== undefined && <span class="found-name">{name}</span>}
      <Id of={id} />
      {account !== undefined && kind !== 'account' && <span class="hint">of {account}</span>}
    </>
  )
}

/** Returns the address of the page that shows it. */
function placeOf({ kind, id, account, source, entryId }: FoundView, publishes: boolean): string {
  switch (kind) {
    case 'account':
      return hrefOf('accounts', { account: id })
    case 'credential':
      return source === 'connect'
        ? hrefOf('connected-apps', { connected: id, shown: 'all' })
        : hrefOf('keys', { key: id, shown: 'all' })
    case 'app':
      return hrefOf(publishes ? 'own-apps' : 'apps', { app: id })
    case 'call':
      return hrefOf('calls', { view: 'all', id })
    case 'hold':
      return entryId === undefined ? hrefOf('live', { hold: id }) : hrefOf('calls', { entry: entryId })
    case 'entry':
      return hrefOf('calls', { entry: id })
    case 'session':
      return hrefOf('calls', { sessionId: id, account })
  }
}
