import { Tag } from "@/design/facts";
import { bytes, count } from "@/design/format";
import { tn } from "@/texts/texts";
import { ArrayView } from "./array-view";
import { shapeWords } from "./npy";
import type { ArraysData } from "./npz";
import css from "./data-view.module.css";

/** The arrays of an archive. The first one is open. */
export function ArraysView({ arrays: { arrays, total } }: { readonly arrays: ArraysData }) {
  return (
    <div className={css["table"]} data-testid="arrays-preview">
      <p className={css["muted"]}>{tn(total, "{n} array", "{n} arrays")}</p>
      {arrays.map(({ name, size, array }, at) => (
        <details key={`${at} ${name}`} open={at === 0}>
          <summary>
            <strong>{name}</strong>{" "}
            {typeof array === "string" ? (
              <span className={css["muted"]}>{bytes(size)}</span>
            ) : (
              <>
                {shapeWords(array.shape)} <Tag>{array.dtype}</Tag>
              </>
            )}
          </summary>
          {typeof array === "string" ? <p className={css["muted"]}>{array}</p> : <ArrayView array={array} />}
        </details>
      ))}
      {total > arrays.length && <p className={css["muted"]}>{tn(total - arrays.length, "{n} more array. Download the file to see it.", "{n} more arrays. Download the file to see them.", { n: count(total - arrays.length) })}</p>}
    </div>
  );
}
