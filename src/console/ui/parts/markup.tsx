import type { AppView } from '../../protocol.js'
import { percentOf } from '../base/format.js'

/** The part of the price that an app adds. */
export function Markup({ of: { basisPoints, flat } }: { of: AppView['markup'] }) {
  return (
    <>
      {percentOf(basisPoints)} %{flat !== undefined && ` and ${flat} per call`}
    </>
  )
}
