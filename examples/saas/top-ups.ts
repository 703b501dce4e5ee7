import { formatCredits } from 'compat-router'
import type { Admin } from 'compat-router/admin'
import type { RequestHandler } from 'express'
import type Stripe from 'stripe'

const CURRENCY = 'usd'
/** One credit is one dollar. Amounts in another currency have no price here, whatever Stripe lets a buyer pay in. */
function toCredits(cents: number, currency: string | null): string {
  if (currency !== CURRENCY) throw new Error(`Stripe reports an amount in ${currency}, not in ${CURRENCY}`)
  return formatCredits(BigInt(cents) * 10_000_000n)
}
const FAILED = new Set<string | null>(['failed', 'canceled'])

/** Sends the user to Stripe, and from there back to the public origin. The metadata, which only this server can set, say later who paid. */
export function createCheckout(stripe: Stripe, origin: string): RequestHandler {
  return async (req, res) => {
    const dollars = Number(req.body?.dollars)
    if (!Number.isInteger(dollars) || dollars < 5 || dollars > 500) {
      res.status(400).send('Between $5 and $500, please.')
      return
    }
    const metadata = { account: res.locals.account as string }
    const page = `${origin}/keys`
    const session = await stripe.checkout.sessions.create({
      mode: 'payment',
      line_items: [
        {
          quantity: 1,
          price_data: { currency: CURRENCY, unit_amount: dollars * 100, product_data: { name: 'Credits' } },
        },
      ],
      metadata,
      payment_intent_data: { metadata },
      success_url: page,
      cancel_url: page,
    })
    res.redirect(303, session.url!)
  }
}

/**
 * Posts what Stripe reports. Stripe sends an event again until it gets a 200, sometimes after that, and in any order: each
 * posting has a reference, which is posted once, and their sum does not depend on the order.
 */
export function createWebhook(stripe: Stripe, secret: string, admin: Admin): RequestHandler {
  /** Takes credits away for money that leaves, or gives them back if it stays after all. */
  async function move(
    money: Pick<Stripe.Refund, 'id' | 'amount' | 'currency' | 'payment_intent'>,
    stays: boolean,
  ): Promise<void> {
    if (money.payment_intent === null) return
    const id = typeof money.payment_intent === 'string' ? money.payment_intent : money.payment_intent.id
    const { account } = (await stripe.paymentIntents.retrieve(id)).metadata
    if (account === undefined) return
    const amount = toCredits(money.amount, money.currency)
    await admin.accounts.correct({ account, amount: `-${amount}`, reference: `stripe ${money.id}` })
    if (stays) await admin.accounts.correct({ account, amount, reference: `stripe ${money.id} undone` })
  }

  async function post(event: Stripe.Event): Promise<void> {
    switch (event.type) {
      case 'checkout.session.completed':
      case 'checkout.session.async_payment_succeeded': {
        const {
          amount_total: cents,
          currency,
          id,
          metadata,
          mode,
          payment_status: status,
        } = event.data.object
        const account = metadata?.account
        // A coupon may pay for all of it, and a subscription is paid by its invoices.
        if (account === undefined || mode !== 'payment' || status !== 'paid' || !cents) return
        await admin.accounts.credit({
          account,
          amount: toCredits(cents, currency),
          reference: `stripe ${id}`,
        })
        return
      }
      case 'refund.created':
      case 'refund.updated':
      case 'refund.failed':
        return move(event.data.object, FAILED.has(event.data.object.status))
      case 'charge.dispute.funds_withdrawn':
        return move(event.data.object, false)
      case 'charge.dispute.funds_reinstated':
        return move(event.data.object, true)
    }
  }

  return async (req, res) => {
    let event: Stripe.Event
    try {
      event = stripe.webhooks.constructEvent(req.body, req.get('stripe-signature') ?? '', secret)
    } catch {
      res.status(400).send('The signature is wrong.')
      return
    }
    await post(event)
    res.json({ received: true })
  }
}
