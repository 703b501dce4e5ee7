import type { AppBody } from '../../protocol/index.js'
import { percentOf } from '../base/format.js'

/** The part of the price that an app adds. */
export function Markup({ of: { basisPoints, flat } }: { of: AppBody['markup'] }) {
  return (
    <>
      {percentOf(basisPoints)} %{flat !== undefined && ` and ${flat} per call`}
    </>
  )
}
