import { Command } from "@/design/notice";
import css from "@/design/page.module.css";
import { t } from "@/texts/texts";

interface LaunchProps {
  readonly name: string;
  /** The id of the installation. */
  readonly installation: string;
}

/** How to run the controller of a new cluster. */
export function Launch({ name, installation }: LaunchProps) {
  return (
    <section className={css["section"]} aria-labelledby="launch">
      <h3 id="launch">{t("Run its controller")}</h3>
      <p>{t("With kubectl and helm in the new cluster, from the folder of the chart; take the image and the storage of this installation:")}</p>
      <Command text="kubectl create namespace flyte" />
      <Command text="kubectl -n flyte create secret generic flyte-credential --from-literal credential=SECRET" />
      <Command
        text={`helm install flyte-binary charts/flyte-binary --namespace flyte --set mode=controller --set installation=${installation} --set cluster.id=${name} --set controlPlane.url=${location.origin} --set controlPlane.credentialSecret=flyte-credential --set storage.url=URL`}
      />
      <p className={css["muted"]}>{t("The new cluster needs a way to {origin}; nothing has to reach the new cluster.", { origin: location.origin })}</p>
    </section>
  );
}
