import type { HomeReply } from '../../protocol.js'
import { formatCount, formatTime } from '../base/format.js'
import { hrefOf } from '../base/place.js'
import { useLoad } from '../base/use-load.js'
import { Badge, Button, PageHead } from '../parts/basics.js'
import { spendSince } from '../parts/home-links.js'
import { Listing } from '../parts/notice.js'
import { Days, Money, Payments } from './home-money.js'
import { Failures, FirstToken, Routes } from './home-service.js'
import { NearEnd, NearZero, Tops } from './home-users.js'

export function OperatorHome() {
  const home = useLoad('home', {})
  const lead = home.data && `As of ${formatTime(home.data.at)}. Times and days are in UTC.`
  return (
    <>
      <PageHead title="Home" {...(lead !== undefined && { lead })}>
        <Button onPress={home.reload}>Refresh</Button>
      </PageHead>
      <Listing what="the figures" loaded={home}>
        {(data) =>
          data.firstSteps === undefined ? (
            <>
              <Verdicts of={data} />
              <Money of={data} />
              <div class="panels">
                <Days of={data} />
                <Failures of={data} />
                <FirstToken of={data} />
                <Routes of={data} />
                <NearZero of={data} />
                <NearEnd of={data} />
                <Tops of={data} />
                <Payments of={data} />
              </div>
            </>
          ) : (
            <FirstSteps of={data.firstSteps} />
          )
        }
      </Listing>
    </>
  )
}

/** Whether money, routes and users are well, to be seen at a glance. */
function Verdicts({ of: { isEqual, month, routes, nearZeroCount, nearEndCount } }: { of: HomeReply }) {
  return (
    <ul class="verdicts">
      <Verdict
        name="Money"
        href={spendSince(month.from)}
        tone={isEqual ? 'good' : 'bad'}
        text={isEqual ? 'charges equal the ledger to the last digit' : 'charges do not equal the ledger'}
      />
      <Verdict
        name="Routes"
        href={hrefOf('routes')}
        tone={routes.failing === 0 ? 'good' : 'bad'}
        text={`${noneOr(routes.failing)} of ${formatCount(routes.count)} failing`}
      />
      <Verdict
        name="Accounts"
        href={hrefOf('accounts')}
        tone={nearZeroCount === 0 ? 'good' : 'warn'}
        text={`${noneOr(nearZeroCount)} near zero`}
      />
      <Verdict
        name="Budgets"
        href={hrefOf('keys')}
        tone={nearEndCount === 0 ? 'good' : 'warn'}
        text={`${noneOr(nearEndCount)} near the end`}
      />
    </ul>
  )
}

const noneOr = (count: number): string => (count === 0 ? 'none' : formatCount(count))

function Verdict(props: { name: string; href: string; tone: 'good' | 'warn' | 'bad'; text: string }) {
  return (
    <li>
      <a href={props.href}>{props.name}</a> <Badge tone={props.tone}>{props.text}</Badge>
    </li>
  )
}

/** What a first call needs. */
function FirstSteps({ of: steps }: { of: NonNullable<HomeReply['firstSteps']> }) {
  return (
    <section class="panel">
      <h2>First steps</h2>
      <p class="hint">
        No call has ended yet. Models and routes that the host of this server defines in its own code do not
        appear here.
      </p>
      <ol class="steps">
        <Step isDone={steps.model} href={hrefOf('models')} text="Add a model, with its prices" />
        <Step
          isDone={steps.route}
          href={hrefOf('routes')}
          text="Add a route, by which its calls reach a provider"
        />
        <Step isDone={steps.credit} href={hrefOf('accounts')} text="Open an account, and give it credit" />
        <Step isDone={steps.key} href={hrefOf('keys')} text="Make a key for the account" />
        <Step isDone={false} href={hrefOf('playground')} text="Make a first call in the playground" />
      </ol>
    </section>
  )
}

function Step({ isDone, href, text }: { isDone: boolean; href: string; text: string }) {
  return (
    <li>
      <Badge {...(isDone && { tone: 'good' as const })}>{isDone ? 'done' : 'to do'}</Badge>{' '}
      <a href={href}>{text}</a>
    </li>
  )
}
