import type { ComponentChildren } from 'preact'
import { useCallback, useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks'
import { SIGNED_OUT_EVENT, signOut } from '../base/api.js'
import { hrefOf } from '../base/place.js'
import { asProblem } from '../base/problem.js'
import { useSession } from '../base/session.js'
import { withdrawTokens } from '../base/use-token.js'
import { Button } from './basics.js'
import { Search } from './search.js'

export interface NavigationLink {
  readonly path: string
  readonly label: string
  readonly startsGroup?: boolean
}

interface ShellProps {
  readonly links: readonly NavigationLink[]
  readonly current: string
  readonly title: string
  /** The last announcement. The number distinguishes it from an earlier one with the same text. */
  readonly message: { readonly number: number; readonly text: string }
  readonly children: ComponentChildren
}

/** Navigation beside every page. On narrow screens it opens from a bar at the top. */
export function Shell({ links, current, title, message, children }: ShellProps) {
  const [isOpen, setOpen] = useState(false)
  const before = useRef(current)
  const menu = useRef<HTMLButtonElement>(null)
  const search = useSearch()
  // A layout effect: a later one would take the focus from an element of the new page that somebody already uses.
  useLayoutEffect(() => {
    document.title = `${title} · Console`
    setOpen(false)
    if (before.current === current) return
    before.current = current
    document.getElementById('page-title')?.focus()
  }, [current, title])
  useEffect(() => {
    if (!isOpen) return
    const close = (event: KeyboardEvent): void => {
      if (event.key !== 'Escape') return
      setOpen(false)
      menu.current?.focus()
    }
    document.addEventListener('keydown', close)
    return () => document.removeEventListener('keydown', close)
  }, [isOpen])
  return (
    <div class="shell">
      <button type="button" class="skip" onClick={skip}>
        Skip to the page
      </button>
      <header class="bar">
        <span class="wordmark">compat-router</span>
        <Button onPress={search}>Search</Button>
        <button
          ref={menu}
          type="button"
          class="button"
          aria-expanded={isOpen}
          aria-controls="navigation"
          onClick={() => setOpen(!isOpen)}
        >
          Menu
        </button>
      </header>
      <nav id="navigation" class={`navigation ${isOpen ? 'is-open' : ''}`} aria-label="Pages of the console">
        <span class="wordmark">compat-router</span>
        <button type="button" class="button search-button" onClick={search} aria-keyshortcuts={SHORTCUT.keys}>
          Search <kbd>{SHORTCUT.label}</kbd>
        </button>
        <ul>
          {links.map(({ path, label, startsGroup }) => (
            <li key={path} class={startsGroup ? 'group' : ''}>
              <a
                href={hrefOf(path)}
                aria-current={path === current ? 'page' : undefined}
                onClick={() => setOpen(false)}
              >
                {label}
              </a>
            </li>
          ))}
        </ul>
        <Identity />
      </nav>
      <main id="page" class="page" tabIndex={-1}>
        {children}
      </main>
      <p class="message" role="status" key={message.number}>
        {message.text}
      </p>
    </div>
  )
}

const SHORTCUT = /^(Mac|iP)/.test(navigator.platform)
  ? { label: '⌘ K', keys: 'Meta+K' }
  : { label: 'Ctrl K', keys: 'Control+K' }

/** Returns what opens the search, as Ctrl-K and Cmd-K do on every page. */
function useSearch(): () => void {
  const { open } = useSession()
  const search = useCallback(() => open((close) => <Search onClose={close} />), [open])
  useEffect(() => {
    const press = (event: KeyboardEvent): void => {
      if (event.key.toLowerCase() !== 'k' || !(event.ctrlKey || event.metaKey)) return
      if (event.altKey || event.shiftKey) return
      event.preventDefault()
      // A form may be half filled in, and a token is shown once.
      if (document.querySelector('dialog[open]') === null) search()
    }
    document.addEventListener('keydown', press)
    return () => document.removeEventListener('keydown', press)
  }, [search])
  return search
}

/** Not a link, since the hash of the address names the page. */
function skip(): void {
  document.getElementById('page')?.focus()
}

function Identity() {
  const { viewer, signOutPath, version, announce, tokens } = useSession()
  const who = viewer.name ?? (viewer.kind === 'user' ? viewer.account : 'Operator')
  const leave = (path: string): void => {
    withdrawTokens(tokens)
      .then(() => signOut(path))
      .then(() => window.dispatchEvent(new CustomEvent(SIGNED_OUT_EVENT, { detail: 'on-purpose' })))
      .catch((caught: unknown) => announce(asProblem(caught).message))
  }
  return (
    <div class="identity">
      <strong>{who}</strong>
      {viewer.kind === 'user' && <span>account {viewer.account}</span>}
      {viewer.kind === 'operator' && viewer.name !== undefined && <span>operator</span>}
      {signOutPath !== undefined && (
        <Button tone="quiet" onPress={() => leave(signOutPath)}>
          Sign out
        </Button>
      )}
      <span>version {version}</span>
    </div>
  )
}
