import { useEffect, useRef, useState } from 'preact/hooks'
import type { ModelView } from '../../protocol.js'
import { nameWithId, percentOf } from '../base/format.js'
import { changeQuery, type Place } from '../base/place.js'
import { asProblem, Problem } from '../base/problem.js'
import { isOperator, ownAccount, useSession } from '../base/session.js'
import { useLoad } from '../base/use-load.js'
import { Button, PageHead } from '../parts/basics.js'
import { Field, type FieldSpec, type Found, type Option } from '../parts/fields.js'
import { appOption, seenTerms, useFoundApps } from '../parts/found.js'
import { Empty, Listing, ProblemNotice } from '../parts/notice.js'
import { Amount } from '../parts/values.js'
import { callBody, type Message } from '../playground/call-body.js'
import { sampleMessages } from '../playground/messages.js'
import { likelyPayer, payerOptions, tokenNameOf } from '../playground/payer.js'
import { namedIn, usePlayground } from '../playground/playground-state.js'
import { SidePanel } from '../playground/side-panel.js'
import { TurnView } from '../playground/turn-view.js'

/** The characters that a header can carry. A token copied from a list contains an ellipsis. */
const VISIBLE_ASCII = /^[!-~]+$/

const TOKEN_HINT = 'Stays in this page.'

const NO_PAYER =
  'The account that pays is not known yet. Send the message again when its balance appears above.'

export function Playground({ query }: { query: Place['query'] }) {
  const models = useLoad('models', {})
  return (
    <>
      <PageHead title="Playground" lead="Real calls, charged like any other." />
      <Listing what="models" loaded={models}>
        {({ models }) => {
          const priced = models.filter(({ prices }) => prices !== undefined)
          return priced.length === 0 ? <NoModels /> : <Bench models={priced} query={query} />
        }}
      </Listing>
    </>
  )
}

function NoModels() {
  const { viewer } = useSession()
  return (
    <Empty title="There is no model to talk to yet.">
      {isOperator(viewer) ? (
        <>
          <a href="#/models">Add a model</a> with its prices, then <a href="#/routes">a route</a> that serves
          it.
        </>
      ) : (
        'Ask the operator of this server to offer one.'
      )}
    </Empty>
  )
}

function Bench({ models, query }: { models: readonly ModelView[]; query: Place['query'] }) {
  const { viewer } = useSession()
  const kept = usePlayground()
  const { baseUrl, conversation, draft, setDraft, parameters, setParameters } = kept
  // The choice in a link takes precedence over the last one.
  const choice = { ...kept.choice, ...namedIn(query) }
  const isForOperator = isOperator(viewer)
  const accounts = useLoad('accounts', { limit: 200 }, { isOff: !isForOperator })
  const isOwn = choice.app === '*own'
  const isThroughApp = Boolean(choice.app) && !isOwn
  const apps = useLoad('apps', { id: choice.app ?? '' }, { isOff: !isThroughApp })
  const payer = ownAccount(viewer) ?? choice.account ?? likelyPayer(accounts.data?.accounts ?? [])
  // Only the router knows the account of a pasted token.
  const account = isOwn ? undefined : payer
  const balance = useLoad('accounts', { account: account ?? '' }, { isOff: account === undefined })
  const [ownToken, setOwnToken] = useState('')
  const [complaint, setComplaint] = useState<Problem>()
  const paidBefore = useRef(kept.paid)
  useEffect(() => {
    if (kept.paid !== paidBefore.current) balance.reload()
  }, [kept.paid])
  useEffect(() => kept.choose(namedIn(query)), [query])
  const messageBox = useRef<HTMLTextAreaElement>(null)
  // Until the app is loaded, it is not known which one the call would go through.
  const isAppKnown = !isThroughApp || apps.data !== undefined
  const canPay = isOwn ? ownToken.trim() !== '' : account !== undefined && isAppKnown

  const model = models.find(({ id }) => id === choice.model) ?? models[0]!
  const app = apps.data?.apps[0]
  const roleSpecs: readonly FieldSpec[] = [
    {
      name: 'model',
      label: 'Model',
      kind: 'select',
      value: model.id,
      options: models.map((one) => ({ value: one.id, label: nameWithId(one) })),
    },
    ...(isForOperator && !isOwn
      ? [
          {
            name: 'account',
            label: 'Account that pays',
            kind: 'select' as const,
            value: account ?? '',
            options: payerOptions(accounts.data?.accounts ?? [], account),
            ...(accounts.data?.next !== undefined && {
              hint: 'The first 200. For another, choose “Try” under Accounts.',
            }),
          },
        ]
      : []),
    {
      name: 'app',
      label: 'Acts through',
      kind: 'select',
      value: isOwn ? '*own' : (app?.id ?? ''),
      options: [
        { value: '', label: 'an API key of the account' },
        { value: '*own', label: 'a token that I paste' },
        ...(app === undefined ? [] : [throughApp(appOption(app))]),
      ],
      useFound: useFoundThroughApps,
    },
  ]

  const bodyOf = (messages: readonly Message[]) => callBody(model.id, messages, parameters)
  const send = (said: readonly Message[]): void => {
    setComplaint(undefined)
    try {
      if (!canPay)
        throw isOwn ? new Problem('Paste a token first.', { field: 'token' }) : new Problem(NO_PAYER)
      if (isOwn && !VISIBLE_ASCII.test(ownToken.trim())) {
        throw new Problem(
          'This is not a complete token. A token is a single word of visible ASCII characters. Paste it as it was shown when it was made.',
          { field: 'token' },
        )
      }
      const role = isOwn
        ? { ownToken: ownToken.trim() }
        : { account: account!, ...(app !== undefined && { appId: app.id, terms: seenTerms(app) }) }
      conversation.send(role, said, bodyOf)
      kept.choose({ model: model.id, app: choice.app ?? '', ...(!isOwn && { account: account! }) })
      setDraft('')
    } catch (caught) {
      setComplaint(asProblem(caught))
    }
  }
  const submit = (): void => {
    if (draft.trim() !== '' && !conversation.isRunning) send([{ role: 'user', content: draft }])
  }
  const stop = (): void => {
    conversation.stop()
    // The button is removed, and would take the focus with it.
    messageBox.current?.focus()
  }
  const shown = balance.data?.accounts[0]

  return (
    <div class="bench">
      <section aria-label="Conversation">
        <div class="roles">
          {roleSpecs.map((spec) => (
            <Field
              key={spec.name}
              spec={spec}
              formId="role"
              onInput={(value) => {
                kept.choose({ [spec.name]: value })
                changeQuery({ [spec.name]: value })
              }}
            />
          ))}
          {isOwn && (
            <Field
              spec={{ name: 'token', label: 'Token', kind: 'secret', value: ownToken, hint: TOKEN_HINT }}
              formId="role"
              onInput={setOwnToken}
            />
          )}
        </div>
        <p class="terms">
          <PriceLine model={model} />
          {isOwn && " The token's account pays. If the token is of an app, the app's markup is added."}
          {app !== undefined && (
            <>
              {' '}
              <strong>{app.name ?? app.id}</strong> adds {percentOf(app.markup.basisPoints)} %
              {app.markup.flat !== undefined && ` and ${app.markup.flat} credits per call`}.
            </>
          )}
        </p>
        {shown !== undefined && !isOwn && (
          <p class="balance" role="status">
            <span>Balance of {shown.id}</span>{' '}
            <strong data-balance={shown.available}>
              <Amount value={shown.available} unit />
            </strong>
            {shown.held !== '0' && !/^0\.?0*$/.test(shown.held) && (
              <span class="held"> {shown.held} on hold</span>
            )}
          </p>
        )}
        {accounts.problem !== undefined && <ProblemNotice problem={accounts.problem} />}
        {balance.problem !== undefined && <ProblemNotice problem={balance.problem} />}
        {apps.problem !== undefined && <ProblemNotice problem={apps.problem} onRetry={apps.reload} />}
        {accounts.data?.accounts.length === 0 && payer === undefined && !isOwn && (
          <Empty title="No account can pay yet.">
            <a href="#/accounts">Open an account</a> and credit it.
          </Empty>
        )}
        <ol class="turns" aria-live="polite" aria-label="What was said">
          {conversation.turns.map((turn, at) => (
            <TurnView
              key={turn.number}
              turn={turn}
              onResults={at === conversation.turns.length - 1 && turn.state === 'done' ? send : undefined}
            />
          ))}
        </ol>
        {conversation.turns.length === 0 && (payer !== undefined || isOwn) && (
          <Empty title="There are no messages yet.">
            Write a message below. Its cost will appear under the reply.
          </Empty>
        )}
        <form
          class="composer"
          onSubmit={(event) => {
            event.preventDefault()
            submit()
          }}
        >
          <label for="message">Message</label>
          <textarea
            ref={messageBox}
            id="message"
            rows={3}
            value={draft}
            onInput={(event) => setDraft(event.currentTarget.value)}
            onKeyDown={(event) => {
              if (event.key !== 'Enter' || event.shiftKey || event.isComposing) return
              event.preventDefault()
              submit()
            }}
          />
          {complaint !== undefined && (
            <p class="complaint" role="alert">
              {complaint.field === undefined ? '' : `In ${complaint.field}: `}
              {complaint.message}
            </p>
          )}
          <div class="actions">
            <span class="hint">Enter sends, Shift+Enter starts a new line.</span>
            {conversation.turns.length > 0 && (
              <Button onPress={conversation.clear} tone="quiet">
                New conversation
              </Button>
            )}
            {conversation.isRunning ? (
              <Button onPress={stop} tone="danger">
                Stop
              </Button>
            ) : (
              <button type="submit" class="button primary" disabled={!canPay || draft.trim() === ''}>
                Send
              </button>
            )}
          </div>
        </form>
      </section>
      <SidePanel
        parameters={parameters}
        onChange={setParameters}
        complaint={complaint}
        frames={conversation.frames}
        baseUrl={baseUrl}
        tokenName={tokenNameOf(isOwn, app)}
        bodyOf={() => bodyOf(sampleMessages(conversation.turns, draft))}
      />
    </div>
  )
}

const throughApp = ({ value, label }: Option): Option => ({ value, label: `the app ${label}` })

function useFoundThroughApps(part: string): Found {
  const { options, isMore } = useFoundApps(part)
  return { options: options.map(throughApp), isMore }
}

function PriceLine({ model }: { model: ModelView }) {
  const prices = model.prices!
  const parts = [
    `${prices.input} in`,
    ...(prices.cachedInput === undefined ? [] : [`${prices.cachedInput} cached`]),
    `${prices.output} out`,
  ]
  return (
    <span>
      {parts.join(' · ')} credits per million tokens
      {prices.request !== undefined && ` · ${prices.request} per call`}
      {prices.tiers !== undefined && ' · more for long prompts'}.
    </span>
  )
}
