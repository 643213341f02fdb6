from auctor.lab.estimators.auc_tree import AucTreeClassifier as AucTreeClassifier

__all__ = ["AucTreeClassifier"]
