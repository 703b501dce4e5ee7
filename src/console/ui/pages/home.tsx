import { isOperator, useSession } from '../base/session.js'
import { OperatorHome } from './operator-home.js'
import { OwnHome } from './own-home.js'

/** The first page: whether money, routes and users are well, or how a user's own account is. */
export function Home() {
  return isOperator(useSession().viewer) ? <OperatorHome /> : <OwnHome />
}
